"""The device "cpu" for verl's platform registry: gloo for communication, Ray's logical GPU slots for placement."""

import resource
import sys
import types
from contextlib import contextmanager

import psutil
import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry


def _nothing(*_args, **_kwargs) -> None:
    """Stands for device calls that have no meaning on a CPU."""


def _resident_bytes(*_args, **_kwargs) -> int:
    return psutil.Process().memory_info().rss


def _peak_resident_bytes(*_args, **_kwargs) -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes
    return peak if sys.platform == "darwin" else peak * 1024


def _memory_info(*_args) -> tuple[int, int]:
    memory = psutil.virtual_memory()
    return memory.available, memory.total


def _device_module() -> types.ModuleType:
    """``torch.cpu`` with those functions of ``torch.cuda`` that verl calls on its device module."""
    module = types.ModuleType("kimina.verl.cpu_device")
    for name in dir(torch.cpu):
        if not name.startswith("__"):
            setattr(module, name, getattr(torch.cpu, name))
    module.is_available = lambda: True
    module.device_count = lambda: 1
    module.current_device = lambda: "cpu"
    module.get_device_name = lambda *_: "cpu"
    module.memory_allocated = module.memory_reserved = _resident_bytes
    module.max_memory_allocated = module.max_memory_reserved = _peak_resident_bytes
    module.mem_get_info = _memory_info
    module.get_rng_state = lambda *_: torch.get_rng_state()
    module.set_rng_state = lambda state, *_: torch.set_rng_state(state)
    module.manual_seed = module.manual_seed_all = torch.manual_seed
    for name in (
        "empty_cache",
        "ipc_collect",
        "set_device",
        "synchronize",
        "reset_peak_memory_stats",
        "reset_accumulated_memory_stats",
        "set_per_process_memory_fraction",
    ):
        setattr(module, name, _nothing)
    return module


_DEVICE = _device_module()


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):
    """Selected by ``VERL_PLATFORM=cpu`` only, never detected."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _DEVICE

    def is_available(self):
        return True

    def is_platform_available(self, use_smi_check=False):
        return False

    def current_device(self):
        # verl hands this to Tensor.to(...)
        return "cpu"

    def device_count(self):
        return 1

    def set_device(self, device_index):
        _nothing()

    def synchronize(self, device_index=None):
        _nothing()

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    def manual_seed_all(self, seed):
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings):
        _nothing()

    def empty_cache(self):
        _nothing()

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg):
        yield

    def profiler_start(self):
        _nothing()

    def profiler_stop(self):
        _nothing()

    def ray_resource_name(self):
        # verl's resource pools count "GPU" or "NPU" only; ray_kwargs.ray_init.num_gpus gives logical ones
        return "GPU"

    def ray_noset_envvars(self):
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self):
        return False

    def cudart(self):
        return None
