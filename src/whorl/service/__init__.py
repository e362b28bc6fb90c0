"""Serves a store over HTTP."""
