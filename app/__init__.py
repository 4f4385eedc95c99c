"""The dashboard. `xcwork app` starts it.

`main.py` is the shell: menu, side bar, guided rail, errors as sentences. A page is one file in `app_pages/` (at most
150 lines) that draws panels; a panel is a function in `panels/`. To add a page:

1. its place in `navigation.PLACES`, and `app_pages/<name>.py`;
2. `shell.source()` and `shell.require_run()` say what it is about; `caches` brings datasets, cards, models and records;
3. what a link should open is a field of `state.View`; everything else is a widget with a key `<page>.<what>`;
4. figures go through `ui.figure`, tables through `ui.table`, text from outside through `ui.plain`;
5. `teach/<name>.md` is its lesson for the guided mode.
"""
