"""Reading and changing what stands in the cloud; the only part of muster that talks to AWS."""
