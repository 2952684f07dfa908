"""The page at `/`: plain HTML, CSS and JavaScript modules, served as they are by `app.api.page`."""
