// What a module is compiled for, said by options: what none names stays.

// RUN: gantry-opt %s --split-input-file --gantry-set-targets="drivers=sim machines=cpu=x86-64-v4,cuda=sm_80,cpu=x86-64-v3 math=tf32" | FileCheck %s --check-prefix=ALL
// RUN: gantry-opt %s --split-input-file --gantry-set-targets=machines=cuda=sm_90 | FileCheck %s --check-prefix=MACHINES
// RUN: not gantry-opt %s --gantry-set-targets=math=bf17 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// ALL: gantry.targets = #gantry.targets<drivers = ["sim"], machines = {cpu = ["x86-64-v4", "x86-64-v3"], cuda = ["sm_80"]}, math = tf32>
// MACHINES: gantry.targets = #gantry.targets<machines = {cuda = ["sm_90"]}>
// UNKNOWN: Cannot find option named 'bf17'
module {}

// -----

// ALL: gantry.targets = #gantry.targets<drivers = ["sim"], machines = {cpu = ["x86-64-v4", "x86-64-v3"], cuda = ["sm_80"]}, math = tf32, libraries = ["auto"], stages = 2>
// MACHINES: gantry.targets = #gantry.targets<drivers = ["cuda"], machines = {cpu = ["native"], cuda = ["sm_90"]}, math = f16, libraries = ["auto"], stages = 2>
module attributes {gantry.targets = #gantry.targets<drivers = ["cuda"], machines = {cpu = ["native"], cuda = ["sm_75"]}, math = f16, libraries = ["auto"], stages = 2>} {}
