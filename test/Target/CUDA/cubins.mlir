// Machine code for GPUs, by a ptxas that is played by a script.

// For the architectures that are named there is machine code, for these alone, before their PTX.
// RUN: rm -rf %t.cache %t.log && mkdir %t.cache
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas FAKE_PTXAS_LOG=%t.log gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75,sm_90 --code-cache=%t.cache -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=PLAN
// PLAN: plan.code @code0 cubin for "sm_90"
// PLAN: plan.code @code1 ptx for "sm_90"
// PLAN: plan.code @code2 cubin for "sm_75"
// PLAN: plan.code @code3 ptx for "sm_75"
// PLAN: variants [#plan.variant<"cuda", code = @code0, arch = [90, 90],
// PLAN-SAME: #plan.variant<"cuda", code = @code1, arch = [90, 0],
// PLAN-SAME: #plan.variant<"cuda", code = @code2, arch = [75, 75],
// PLAN-SAME: #plan.variant<"cuda", code = @code3, arch = [75, 0],

// What was made is taken again, and the plan is the same; a damaged file is made anew.
// RUN: ls %t.cache | count 2
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas FAKE_PTXAS_LOG=%t.log gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75,sm_90 --code-cache=%t.cache -o %t.again
// RUN: cmp %t.gantry %t.again && FileCheck %s --check-prefix=ONCE --input-file=%t.log
// ONCE-COUNT-2: -arch=sm_
// ONCE-NOT: -arch=sm_
// RUN: sh -c 'for file in %t.cache/*; do echo other > $file; done'
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas FAKE_PTXAS_LOG=%t.log gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75,sm_90 --code-cache=%t.cache -o %t.again
// RUN: cmp %t.gantry %t.again && FileCheck %s --check-prefix=ANEW --input-file=%t.log
// ANEW-COUNT-4: -arch=sm_

// An emulated GPU takes the PTX.
// RUN: gantry run %t.gantry --emulate --fill x=ramp -v 2>&1 | FileCheck %s --check-prefix=EMULATED
// EMULATED: as PTX for sm_90; what comes before it in the plan cannot run here: machine code for sm_90 (an emulated GPU runs PTX, no machine code)

// Without a name there is none, unless it is asked for.
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas gantry compile %s --devices=CPU:0,GPU:0 -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=PTX
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75 --cubins=off -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=PTX
// PTX-NOT: cubin for
// PTX: plan.code @code0 ptx for "sm_75"
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas gantry compile %s --devices=CPU:0,GPU:0 --cubins=on -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=ON
// ON: plan.code @code0 cubin for "sm_75"

// When it fails, a plan that may do without has PTX alone and says so; another is an error.
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas FAKE_PTXAS=fail gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75 -o %t.gantry 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: gantry: remark: {{.*}}: no machine code for sm_75, which leaves it to the driver: '{{.*}}/Inputs/ptxas -arch=sm_75 narrow.ptx' ended with exit status 255: ptxas narrow.ptx, line 3; error   : no such instruction; ptxas fatal   : Ptx assembly aborted due to errors
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=PTX
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas FAKE_PTXAS=fail not gantry compile %s --devices=CPU:0,GPU:0 --cubins=on -o %t.none 2>&1 | FileCheck %s --check-prefix=FAIL
// FAIL: gantry: error: {{.*}}: no machine code for sm_75: '{{.*}}/Inputs/ptxas -arch=sm_75 narrow.ptx' ended with exit status 255: ptxas narrow.ptx, line 3; error   : no such instruction
// RUN: env GANTRY_PTXAS=%S/Inputs/ptxas FAKE_PTXAS=killed not gantry compile %s --devices=CPU:0,GPU:0 --cubins=on -o %t.none 2>&1 | FileCheck %s --check-prefix=KILLED
// KILLED: gantry: error: {{.*}}: no machine code for sm_75: '{{.*}}/Inputs/ptxas -arch=sm_75 narrow.ptx' ended with signal 9 (Killed)

// RUN: env GANTRY_PTXAS=/nowhere/ptxas not gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75 -o %t.none 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: gantry: error: GANTRY_PTXAS: '/nowhere/ptxas' is no program
// RUN: not gantry compile %s --devices=CPU:0,GPU:0 --cubins=yes -o %t.none 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: gantry: error: --cubins: expected one of auto, on, off, got 'yes'

func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<4xf32> {gantry.name = "y"}) {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
