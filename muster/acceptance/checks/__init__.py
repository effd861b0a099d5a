"""One module per check; `registry` lists them."""
