"""Tests of a session store on a cluster."""
