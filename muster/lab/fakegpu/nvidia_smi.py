"""What nvidia-smi says on a lab node."""
