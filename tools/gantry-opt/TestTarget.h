// A target that makes no code, for tests of what several targets have to agree on.
#pragma once

/// Has the driver cuda served by a target "test", which lets no two ops share a kernel and
/// overwrites nothing. Kernels stay as they are.
void registerTestTarget();
