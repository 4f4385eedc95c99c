"""The pages of the dashboard; Streamlit runs them as scripts."""
