"""One module per group of addresses; a route parses, calls one core function, renders."""
