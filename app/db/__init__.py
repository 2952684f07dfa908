"""The PostgreSQL edge; the only code that knows asyncpg."""
