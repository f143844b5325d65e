# Writes files into a C source, so that the installed program needs none of them:
#   cmake -DOUTPUT=x.c -DFOLDER=... -DNAMES="a.csv,b.yaml" -DHEADER=reproduce/paper.h -DTABLE=gn_paper_files -P embed.cmake
# HEADER declares a struct {const char *name, *bytes; size_t size;} under the name gn_embedded_file;
# TABLE ends with an empty entry. Bytes end in a zero that is not counted.
string(REPLACE "," ";" names "${NAMES}")
set(arrays "")
set(entries "")
set(i 0)
foreach(name ${names})
    file(READ ${FOLDER}/${name} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "((0x..,){24})" "\\1\n" bytes "${bytes}")
    string(APPEND arrays "static const char file_${i}[] = {\n${bytes}0};\n")
    string(APPEND entries "    {\"${name}\", file_${i}, sizeof file_${i} - 1},\n")
    math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake; do not edit. */\n#include \"${HEADER}\"\n\n"
     "${arrays}\nconst gn_embedded_file ${TABLE}[] = {\n${entries}    {NULL, NULL, 0},\n};\n")
