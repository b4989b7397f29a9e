// Variables of the environment. They name libraries, programs and folders of machine code, and
// whoever starts a program sets them: one that runs with other rights than theirs (setuid,
// capabilities) sees none.
#pragma once

#include <string>

namespace gantry {

/// The value of a variable, or null where it is not set; the process owns it.
const char *environmentVariable(const char *name);

/// The same where one that is empty says nothing: empty, too, where it is not set.
std::string environment(const char *name);

} // namespace gantry
