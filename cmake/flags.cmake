# How our own files are compiled. Never -Ofast or -ffast-math: they break NaN checks and bits.
add_library(gerne_flags INTERFACE)
target_compile_definitions(gerne_flags INTERFACE _GNU_SOURCE)
target_compile_options(gerne_flags INTERFACE
    -fvisibility=hidden -fno-semantic-interposition -ffp-contract=off -fno-math-errno
    -Wall -Wextra -Wconversion -Wvla -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    $<$<BOOL:${GERNE_DEV}>:-Werror>
    $<$<BOOL:${GERNE_NATIVE}>:-march=native>)
# A loop that clang leaves scalar is slower there, not wrong.
target_compile_options(gerne_flags INTERFACE $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
# The stack of a worker thread is small; large locals are a mistake.
target_compile_options(gerne_flags INTERFACE -Wframe-larger-than=131072)
target_link_libraries(gerne_flags INTERFACE m pthread)

if(GERNE_SAN STREQUAL "address")
    set(san -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(GERNE_SAN STREQUAL "thread")
    set(san -fsanitize=thread)
elseif(GERNE_SAN AND NOT GERNE_SAN STREQUAL "valgrind")
    message(FATAL_ERROR "GERNE_SAN is '${GERNE_SAN}', not address, thread or valgrind")
endif()
if(GERNE_FUZZ) # coverage for libFuzzer, in every object
    list(APPEND san -fsanitize=fuzzer-no-link)
endif()
target_compile_options(gerne_flags INTERFACE ${san})
target_link_options(gerne_flags INTERFACE ${san})
