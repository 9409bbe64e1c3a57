# Writes page_files.cpp: the page's files and openapi.json as arrays of bytes. Run with -DSOURCE=... -DOUTPUT=...
set(text "#include \"server/page_files.h\"\n\nnamespace hearth::server {\nnamespace {\n")
foreach(name chat_page.html chat_page.js chat_page.css openapi.json)
  file(READ ${SOURCE}/${name} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(REPLACE "." "_" symbol ${name})
  string(APPEND text "constexpr char ${symbol}[] = {${bytes}};\n")
endforeach()
string(APPEND text "}  // namespace

const std::array<PageFile, 3> page_files{{
    {\"/\", \"text/html; charset=utf-8\", {chat_page_html, sizeof chat_page_html}},
    {\"/app.js\", \"text/javascript; charset=utf-8\", {chat_page_js, sizeof chat_page_js}},
    {\"/app.css\", \"text/css; charset=utf-8\", {chat_page_css, sizeof chat_page_css}},
}};

const std::string_view openapi_text{openapi_json, sizeof openapi_json};

}  // namespace hearth::server
")
file(WRITE ${OUTPUT} "${text}")
