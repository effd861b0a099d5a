"""What a spec with target aws asks of the cloud. Pure."""
