"""The cluster's own scheduler: what acceptance asks of it, and Slurm."""
