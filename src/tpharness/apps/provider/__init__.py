"""The model's API, scripted: what an application is given as its provider."""
