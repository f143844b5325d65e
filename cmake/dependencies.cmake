# What we stand on; scripts/install-deps names the Debian packages.
#
# gerne_needs(TARGET NAME): our files use TARGET; whoever links libgerne.a needs -lNAME (or a path).
# gerne_needs_package(PACKAGE NAME): the same for a pkg-config package.
find_package(PkgConfig REQUIRED)
add_library(gerne_dependencies INTERFACE)
set(GERNE_LINKED "")
macro(gerne_needs target library)
    target_link_libraries(gerne_dependencies INTERFACE ${target})
    list(APPEND GERNE_LINKED ${library})
endmacro()
macro(gerne_needs_package name library)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${name})
    gerne_needs(PkgConfig::${name} ${library})
endmacro()

# Not through oneDNN's own CMake package: Debian's asks for OpenCL's headers, which nobody uses here.
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl_version.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
file(STRINGS ${DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h dnnl_version REGEX "VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" dnnl_version "${dnnl_version}")
if(NOT dnnl_version VERSION_GREATER_EQUAL 2.6 OR dnnl_version VERSION_GREATER_EQUAL 3)
    message(FATAL_ERROR "oneDNN ${dnnl_version} is in ${DNNL_INCLUDE}; version 2.6 or a later 2 is needed")
endif()
target_include_directories(gerne_dependencies SYSTEM INTERFACE ${DNNL_INCLUDE})
gerne_needs(${DNNL_LIBRARY} dnnl)
gerne_needs(stdc++ stdc++) # for src/engine/guard.cc, which catches what oneDNN throws
find_path(LIBLINEAR_INCLUDE linear.h REQUIRED)
find_library(LIBLINEAR_LIBRARY linear REQUIRED)
target_include_directories(gerne_dependencies SYSTEM INTERFACE ${LIBLINEAR_INCLUDE})
gerne_needs(${LIBLINEAR_LIBRARY} linear)
gerne_needs_package(jansson jansson)
gerne_needs_package(yaml-0.1 yaml)
gerne_needs_package(libarchive archive)
gerne_needs_package(libcurl curl)
gerne_needs_package(libdeflate deflate)
gerne_needs_package(libjpeg jpeg)
gerne_needs_package(libpng png)
gerne_needs_package(libutf8proc utf8proc)
gerne_needs_package(sqlite3 sqlite3)
gerne_needs_package(zlib z)

# oneDNN's threads are OpenMP's; ours come from the same pool. Without it our loops run on one.
find_package(OpenMP)
if(OpenMP_C_FOUND)
    list(GET OpenMP_C_LIB_NAMES 0 openmp)
    if(NOT openmp STREQUAL "gomp") # clang's is outside the linker's folders
        set(openmp ${OpenMP_${openmp}_LIBRARY})
    endif()
    gerne_needs(OpenMP::OpenMP_C ${openmp})
else()
    target_compile_options(gerne_dependencies INTERFACE -Wno-unknown-pragmas)
endif()
list(APPEND GERNE_LINKED m pthread ${CMAKE_DL_LIBS})
target_link_libraries(gerne_dependencies INTERFACE ${CMAKE_DL_LIBS})

# Headers alone.
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)
target_include_directories(gerne_dependencies SYSTEM INTERFACE ${RANDOM123_INCLUDE})

# More than one process. Only the program uses MPI; the library has the interface (src/ranks). Another
# MPI than the default one: -DMPI_C_COMPILER=mpicc.mpich
set(GERNE_MPI AUTO CACHE STRING "Train on several processes with MPI: AUTO (where it is installed), ON or OFF")
if(NOT GERNE_MPI STREQUAL "OFF")
    find_package(MPI QUIET COMPONENTS C)
    if(GERNE_MPI STREQUAL "ON" AND NOT MPI_C_FOUND)
        message(FATAL_ERROR "GERNE_MPI is ON, but there is no MPI: install libopenmpi-dev or libmpich-dev")
    endif()
endif()
if(MPI_C_FOUND)
    message(STATUS "MPI: ${MPI_C_LIBRARIES}")
else()
    message(STATUS "MPI: none; the program runs in one process")
endif()
