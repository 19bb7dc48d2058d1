"""The quality of the results on real headers, as figures with a bar each: `make quality`."""
