"""What `make` calls to set a checkout up; standard library only."""
