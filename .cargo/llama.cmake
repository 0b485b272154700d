# Leaves the library `common` out of llama.cpp: nothing here calls it, and it is two fifths of what is compiled.
# llama-cpp-sys-2 has it by a default feature that llama-cpp-2 does not let its users turn off. CMake reads this after `project()`.
set(LLAMA_BUILD_COMMON OFF)
