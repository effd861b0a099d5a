"""Programs that run on a node: single files, standard library only (numpy where it says so)."""
