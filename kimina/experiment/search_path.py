"""Where Hydra finds configuration files that are not in conf/: verl's own tree, and the experiments folder."""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin

from kimina.experiment.options import REPOSITORY, verl_config_folder


class KiminaSearchPath(SearchPathPlugin):
    """Appends verl's configuration folder, and the repository root for the group ``experiments``."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append our two folders behind the primary one, so that conf/ wins where names collide."""
        search_path.append(provider="kimina-verl", path=f"file://{verl_config_folder()}")
        search_path.append(provider="kimina-experiments", path=f"file://{REPOSITORY}")
