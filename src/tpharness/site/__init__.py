"""The static site: the suite's clauses and rulings with their pictures, docs, matrix, certificates and trends.

In: the checkout, and documents that other commands have written. Out: a folder of HTML that asks the network for
nothing. `pages` and `views` make the sources, `build` has Zensical make the site of them, `links` reads the result.
"""

from tpharness.site.build import build_site
from tpharness.site.documents import Documents, read_documents
from tpharness.site.links import find_broken_links

__all__ = ["Documents", "build_site", "find_broken_links", "read_documents"]
