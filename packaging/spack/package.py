# SPDX-License-Identifier: BSD-3-Clause
from spack.package import *


class Fzgm(CMakePackage, CudaPackage, PythonExtension):
    """Error-bounded compression pipelines for arrays of floats and integers, on CPUs and NVIDIA GPUs, with a C ABI."""

    homepage = "https://crates.io/crates/fzgm"
    # An archive of the whole repository. The crate on crates.io is the Rust library alone.
    url = "https://fzgm.example.org/fzgm-0.1.0.tar.gz"

    license("BSD-3-Clause")

    # Released versions come with the checksum of their archive.
    version("0.1.0")

    variant("shared", default=True, description="Install the shared library")
    variant("static", default=True, description="Install the static library")
    variant("tools", default=True, description="Install the command line")
    variant("cuda", default=False, description="Compile kernels for NVIDIA GPUs")
    variant("hdf5", default=False, description="Install the filter plugin for HDF5")
    variant("adios2", default=False, description="Install the operator plugin for ADIOS2")
    variant("python", default=False, description="Install the Python package")

    conflicts("~shared~static", msg="fzgm without any library is nothing")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("rust@1.85:", type="build")
    # nvcc alone: the driver is opened when the library runs, and nothing of CUDA is linked.
    depends_on("cuda@12.4:", type="build", when="+cuda")
    depends_on("cxx", type="build", when="+cuda")
    # The plugin is opened by HDF5 and not linked with it.
    depends_on("hdf5@1.10:", type="run", when="+hdf5")
    depends_on("adios2@2.12", type=("build", "run"), when="+adios2")
    depends_on("cxx", type="build", when="+adios2")
    extends("python@3.10:", when="+python")
    depends_on("py-maturin@1.7:1", type="build", when="+python")
    depends_on("py-pip", type="build", when="+python")
    depends_on("py-numpy@1.23:", type=("build", "run"), when="+python")

    def setup_build_environment(self, env):
        env.set("FZGM_CUDA", "require" if "+cuda" in self.spec else "off")
        archs = self.spec.variants["cuda_arch"].value if "+cuda" in self.spec else ("none",)
        if archs[0] != "none":
            env.set("FZGM_CUDA_ARCHS", ",".join(archs))
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))

    def cmake_args(self):
        return [
            self.define_from_variant("FZGM_BUILD_SHARED", "shared"),
            self.define_from_variant("FZGM_BUILD_STATIC", "static"),
            self.define_from_variant("FZGM_BUILD_CLI", "tools"),
            self.define_from_variant("FZGM_BUILD_HDF5", "hdf5"),
            self.define_from_variant("FZGM_HDF5_CUDA", "cuda"),
            self.define_from_variant("FZGM_BUILD_ADIOS2", "adios2"),
            self.define("FZGM_CARGO", which("cargo").path),
        ]

    @run_after("install")
    def install_python(self):
        if "+python" not in self.spec:
            return
        with working_dir(join_path(self.stage.source_path, "python")):
            python = which("python3")
            python("-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed", "--prefix", self.prefix, ".")

    def setup_run_environment(self, env):
        for folder in find(self.prefix, "libh5fzgm.so"):
            env.prepend_path("HDF5_PLUGIN_PATH", os.path.dirname(folder))
        for folder in find(self.prefix, "libfzgm_adios2.so"):
            env.prepend_path("ADIOS2_PLUGIN_PATH", os.path.dirname(folder))
