"""The dashboard: a Streamlit page over the engine. `xcwork app` starts it."""
