"""The console in browsers: how its files are served."""
