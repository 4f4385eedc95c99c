"""The dashboard. `xcwork app` starts it.

`main.py` is the shell: menu, side bar, guided rail, errors as sentences. A page is one file in `app_pages/` (at most
150 lines) that draws panels; a panel is a function in `panels/`. Imports point one way: pages → panels → widgets →
navigation → views → caches → sources, state. Views compute and cache what pages show; they draw nothing. To add a page:

1. its place in `navigation.PLACES`, and `app_pages/<name>.py`;
2. `selection.get_source()` and `require_finished_run(title)` say what it is about; `caches` brings datasets, models and
   records;
3. what several pages share is a field of `state.View`; everything else is a widget with a key `<page>.<what>`, which
   `state.link` puts into the address (`widgets.choose_option`, `toggle` and `choose_several` do so themselves), so that
   links, Back and Forward find it again. A page that has nothing more to show raises `widgets.PageEnd`;
4. figures go through `widgets.show_figure`, tables through `show_table`, text from outside through `plain`;
5. `teach/<name>.md` is its lesson for the guided mode.
"""
