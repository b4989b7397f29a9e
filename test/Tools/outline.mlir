// What is told of a graph, for which no code is made, is what is told of its plan, and nothing but
// the first lines says which of the two it is.

// DEFINE: %{flags} =
// DEFINE: %{ptxas} = %S/../Target/CUDA/Inputs/ptxas
// DEFINE: %{told} = sed -e '1,/^placement:/d' -e '/^more:/,$d'
// DEFINE: %{same} = env GANTRY_PTXAS=%{ptxas} gantry compile %s %{flags} -o %t.gantry 2> %t.said.plan && \
// DEFINE:           env GANTRY_PTXAS=%{ptxas} gantry explain %s %{flags} --all > %t.graph 2> %t.said.graph && \
// DEFINE:           gantry explain %t.gantry --all > %t.plan && diff %t.said.plan %t.said.graph && \
// DEFINE:           %{told} %t.plan > %t.told.plan && %{told} %t.graph > %t.told.graph && \
// DEFINE:           diff %t.told.plan %t.told.graph

// RUN: %{same}
// RUN: FileCheck %s --check-prefix=GRAPH --input-file=%t.graph
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.plan
// GRAPH: plan of {{[0-9.]+}} KiB without its code from 'outline.mlir', made by gantry
// PLAN: plan of {{[0-9.]+}} KiB from 'outline.mlir', made by gantry

// Variants: of several processors, with matrices that only the code's features name, of libraries,
// and machine code of GPUs, where there is a ptxas.
// REDEFINE: %{flags} = --target-cpu=x86-64-v3,x86-64-v4
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=CPUS --input-file=%t.told.graph
// CPUS: 2 kernels, driver host: code for x86-64-v3, else code for x86-64-v4
// REDEFINE: %{flags} = --target-cpu=sapphirerapids,x86-64-v3 --math=bf16
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=MATRICES --input-file=%t.told.graph
// MATRICES: amx_bf16
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_80,sm_90 --libraries=cublaslt
// RUN: %{same}
// RUN: FileCheck %s --check-prefix=LIBRARY --input-file=%t.told.graph
// LIBRARY: cublasLt {{.*}}, else machine code for sm_90, else PTX for sm_90, else
// LIBRARY-NEXT: machine code for sm_80, else PTX for sm_80
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --also=sim --cubins=off
// RUN: %{same}

// Where ptxas does not run, the same is remarked, or refused.
// REDEFINE: %{flags} = --devices=CPU:0,GPU:0 --gpu-arch=sm_80
// RUN: env GANTRY_PTXAS=/bin/false gantry compile %s %{flags} -o %t.gantry 2> %t.said.plan
// RUN: env GANTRY_PTXAS=/bin/false gantry explain %s %{flags} 2> %t.said.graph
// RUN: diff %t.said.plan %t.said.graph
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.said.graph
// REMARK: no machine code for sm_80, which leaves it to the driver:
// RUN: not env GANTRY_PTXAS=/bin/false gantry compile %s %{flags} --cubins=on -o %t.gantry 2> %t.said.plan
// RUN: not env GANTRY_PTXAS=/bin/false gantry explain %s %{flags} --cubins=on 2> %t.said.graph
// RUN: diff %t.said.plan %t.said.graph

// The other commands that only tell, and as JSON.
// RUN: gantry compile %s -o %t.gantry
// RUN: gantry diff %s %t.gantry
// RUN: gantry explain %t.gantry --json | sed -e 's/"plan_bytes": *[0-9]*//' -e 's/"has_code": *true//' > %t.plan
// RUN: gantry explain %s --json | sed -e 's/"plan_bytes": *[0-9]*//' -e 's/"has_code": *false//' > %t.graph
// RUN: diff %t.plan %t.graph
// RUN: gantry report %s -o %t.html && FileCheck %s --check-prefix=REPORT --input-file=%t.html
// REPORT: "has_code":{{ ?}}false

// What runs has code.
// RUN: gantry explain %s --devices=CPU:0,GPU:0 --simulate --timeline | FileCheck %s --check-prefix=TIMELINE
// TIMELINE: plan of {{[0-9.]+}} KiB from 'outline.mlir', made by gantry

func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %w = gantry.constant dense<0.01> : tensor<256x256xf32>
  %0 = gantry.matmul %x, %w : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %1 = gantry.softmax %0 {axis = 1 : i64} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %1 : tensor<64x256xf32>
}
