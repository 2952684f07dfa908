"""Waiting and waking: group commit, tails, streams, upkeep. Knows neither FastAPI nor asyncpg."""
