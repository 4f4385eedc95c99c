"""What pages show, computed from runs and cached; nothing is drawn here."""
