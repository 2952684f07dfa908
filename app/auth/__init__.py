"""Who a caller is and what they may do: API keys, JWTs, tickets and scopes."""
