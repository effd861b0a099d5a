"""The cloud: moto, what it lacks, and the faults that a scenario asks for."""
