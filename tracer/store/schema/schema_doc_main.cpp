// Writes docs/reference/schema.md: ddpprof-schema-doc FILE.
#include <fstream>
#include <iostream>

#include "tracer/store/schema/schema.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: ddpprof-schema-doc FILE (the repository's docs/reference/schema.md)\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  file << ddpprof::store::schema_markdown();
  file.close();
  if (!file) {
    std::cerr << "ddpprof-schema-doc: cannot write " << argv[1] << "\n";
    return 3;
  }
  return 0;
}
