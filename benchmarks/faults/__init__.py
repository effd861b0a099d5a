"""How well are injected faults found? A simulated fleet, many trials, several methods."""
