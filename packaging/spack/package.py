# SPDX-License-Identifier: BSD-3-Clause
from spack.package import *


class Fzgm(CMakePackage, CudaPackage):
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

    conflicts("~shared~static", msg="fzgm without any library is nothing")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("rust@1.85:", type="build")
    # nvcc alone: the driver is opened when the library runs, and nothing of CUDA is linked.
    depends_on("cuda@13:", type="build", when="+cuda")
    depends_on("cxx", type="build", when="+cuda")

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
            self.define("FZGM_CARGO", which("cargo").path),
        ]
