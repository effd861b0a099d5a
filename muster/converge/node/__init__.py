"""Programs that run on the nodes, with the standard library only."""
