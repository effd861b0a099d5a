"""Fake hardware: what a GPU node has and a lab node lacks, driven by one state file per node."""
