# What we stand on; scripts/install-deps names the Debian packages.
find_package(PkgConfig REQUIRED)
find_package(OpenMP)
find_package(dnnl 2.6 REQUIRED CONFIG)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)

add_library(gerne_dependencies INTERFACE)
target_include_directories(gerne_dependencies SYSTEM INTERFACE ${RANDOM123_INCLUDE})
target_link_libraries(gerne_dependencies INTERFACE DNNL::dnnl PkgConfig::JANSSON PkgConfig::YAML
                                                   PkgConfig::ARCHIVE)
# oneDNN's threads are OpenMP's; ours come from the same pool. Without it our loops run on one.
if(OpenMP_C_FOUND)
    target_link_libraries(gerne_dependencies INTERFACE OpenMP::OpenMP_C)
else()
    target_compile_options(gerne_dependencies INTERFACE -Wno-unknown-pragmas)
endif()
