"""Voyager."""
