"""Components of our own, where Streamlit has none: `label_list` makes a whole row the target, `marked_text` a word.

Each is a module with an adapter in Python, and `NAME.js` and `NAME.css` beside it: plain JavaScript without a build
step. Text from outside goes over as data and is set with `textContent`; colours are data as well (`tokens.COLOURS`).
"""
