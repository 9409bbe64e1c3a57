"""mlx-lm's HTTP server on the CPU; flags are its own. The oracle's Python."""
import sys

sys.path.pop(0)  # this folder: a script here is named like the package
import mlx.core as mx  # noqa: E402

mx.set_default_device(mx.cpu)  # before mlx_lm, which makes its stream on import
from mlx_lm.server import main  # noqa: E402

if __name__ == "__main__":
    main()
