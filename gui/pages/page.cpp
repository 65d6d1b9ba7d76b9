#include "gui/pages/page.hpp"
