"""What operators see: metrics, logs, traces. The only code that knows Prometheus and OpenTelemetry."""
