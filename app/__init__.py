"""Gapless: pub/sub on PostgreSQL. This package is the HTTP service."""

__version__ = "0.1.0"
