"""From a checked spec to what is to be made and how it is to be proved. Pure."""
