# SPDX-License-Identifier: MIT
# The recipe of Tyto for Conan 2: `conan create packaging/conan` packs the sources that it lies in, builds and tests them.
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Tyto(ConanFile):
    name = "tyto"
    description = "A lazy tensor engine with memory known before it is used"
    license = "MIT"
    topics = ("tensor", "machine-learning", "autodiff", "computation-graph", "numpy")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "fPIC": [True, False],
        "eigen": [True, False],
        "jit": [True, False],
        "opencl": [True, False],
        "pictures": [True, False],
    }
    default_options = {
        "shared": True,
        "fPIC": True,
        "eigen": True,
        "jit": True,
        "opencl": True,
        "pictures": True,
    }

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(Tyto VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "THIRD_PARTY_NOTICES", "cmake/*", "include/*", "core/*", "ops/*",
                        "numerics/*", "optimiser/*", "devices/*", "engine/*", "nn/*", "io/*", "onnx/*", "distributed/*",
                        "cli/*", "packaging/libtyto-gdb.py"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def config_options(self):
        if self.settings.os == "Windows":
            del self.options.fPIC
        if self.settings.arch != "x86_64":
            del self.options.jit

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def requirements(self):
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("nlohmann_json/[>=3.2 <4]")
        if self.options.eigen:
            self.requires("eigen/[>=3.4 <4]")
        if self.options.get_safe("jit"):
            self.requires("xbyak/[>=6]")
        if self.options.opencl:
            self.requires("opencl-icd-loader/[>=2022]")
        if self.options.pictures:
            self.requires("libpng/[>=1.6 <2]")
            self.requires("libjpeg-turbo/[>=2 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        chosen = {
            "TYTO_EIGEN": self.options.eigen,
            "TYTO_JIT": self.options.get_safe("jit", False),
            "TYTO_OPENCL": self.options.opencl,
            "TYTO_PNG": self.options.pictures,
            "TYTO_JPEG": self.options.pictures,
        }
        for variable, wanted in chosen.items():
            toolchain.cache_variables[variable] = "ON" if wanted else "OFF"
        for variable in ("TYTO_ONEDNN", "TYTO_CBC", "TYTO_MPI", "TYTO_TESTS", "TYTO_EXAMPLES", "TYTO_BENCH"):
            toolchain.cache_variables[variable] = "OFF"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        for name in ("LICENSE", "THIRD_PARTY_NOTICES"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_info(self):
        # Tyto's own CMake package is found, so that its components are there.
        self.cpp_info.libs = ["tyto"]
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Tyto")]
