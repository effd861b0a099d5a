"""doctor: can this machine do what muster asks of it, and what to do where it cannot."""
