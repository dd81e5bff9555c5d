"""A plugin of MkDocs that builds the MCP server of a documentation after its pages.

    plugins:
      - search
      - slipway:
          host: cloudflare
"""

import json
import os
import shutil
import subprocess
import sysconfig

from mkdocs.config import config_options
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin

try:
    from mkdocs.plugins import get_plugin_logger
except ImportError:  # before MkDocs 1.5
    import logging

    def get_plugin_logger(name):
        return logging.getLogger("mkdocs.plugins." + name)


log = get_plugin_logger("slipway")


class SlipwayPlugin(BasePlugin):
    """Runs slipway site build on the project, into the folder mcp of the published pages."""

    config_scheme = (
        ("host", config_options.Type(str, default="")),
        ("folder", config_options.Type(str, default="mcp")),
        ("args", config_options.Type(list, default=[])),
        ("program", config_options.Type(str, default="")),
    )

    def on_post_build(self, config, **kwargs):
        if not os.path.isfile(config["config_file_path"] or ""):
            raise PluginError(
                "slipway: the configuration comes from standard input; name a file, such as mkdocs build -f mkdocs.prod.yml")
        project, name = os.path.split(os.path.abspath(config["config_file_path"]))
        published = config["site_dir"]
        command = [
            self._program(), "site", "build", project, "--json",
            "--site-root", published, "--output", os.path.join(published, self.config["folder"]),
        ]
        if name != "mkdocs.yml":
            command += ["--mkdocs-config", name]
        if self.config["host"]:
            command += ["--host", self.config["host"]]
        command += [str(arg) for arg in self.config["args"]]
        try:
            done = subprocess.run(command, cwd=project, capture_output=True, text=True, encoding="utf-8")
        except OSError as e:
            raise PluginError("slipway: %s: %s" % (command[0], e.strerror))
        for finding in (_parsed(done.stdout) or {}).get("findings", []):
            place = finding.get("file", "")
            if place and finding.get("line"):
                place += ":%d" % finding["line"]
            text = "slipway: " + (place + ": " if place else "") + finding["message"]
            (log.info if finding["severity"] == "note" else log.warning)(text)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["exit code %d" % done.returncode]
            error = (_parsed(lines[-1]) or {}).get("error")
            reason = "\n".join(lines)
            if error:
                reason = error["message"] + ("\nhint: " + error["hint"] if error.get("hint") else "")
            raise PluginError("slipway: " + reason)

    def _program(self):
        """Returns the program: the configured one, that of the same environment, or that of the PATH."""
        if self.config["program"]:
            return self.config["program"]
        beside = shutil.which("slipway", path=sysconfig.get_path("scripts"))
        return beside or shutil.which("slipway") or "slipway"


def _parsed(text):
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
