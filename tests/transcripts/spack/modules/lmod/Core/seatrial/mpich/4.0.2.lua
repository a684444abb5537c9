-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-28 20:30:27.405567
--
-- mpich@4.0.2~argobots~cuda+fortran+hwloc+hydra~level_zero+libxml2+pci~rocm+romio~slurm~vci~verbs+wrapperrpath~xpmem build_system=autotools datatype-engine=auto device=ch4 netmod=ofi patches:=d4c0e99,db4173c,de0de41 pmi=default arch=linux-debian12-x86_64/3sme2nk
--

whatis([[Name : mpich]])
whatis([[Version : 4.0.2]])
whatis([[Target : x86_64]])
whatis([[Short description : MPICH is a high performance and widely portable implementation of the Message Passing Interface (MPI) standard.]])
whatis([[Configure options : unknown, software installed outside of Spack]])

help([[Name   : mpich]])
help([[Version: 4.0.2]])
help([[Target : x86_64]])
help()
help([[MPICH is a high performance and widely portable implementation of the
Message Passing Interface (MPI) standard.]])



prepend_path("MANPATH", "/usr/share/man", ":")
prepend_path("ACLOCAL_PATH", "/usr/share/aclocal", ":")
prepend_path("PKG_CONFIG_PATH", "/usr/lib/pkgconfig", ":")
prepend_path("PKG_CONFIG_PATH", "/usr/share/pkgconfig", ":")
setenv("MPICC", "/usr/bin/mpicc")
setenv("MPICXX", "/usr/bin/mpicxx")
setenv("MPIF77", "/usr/bin/mpif77")
setenv("MPIF90", "/usr/bin/mpif90")
setenv("MPICH_ROOT", "/usr")
prepend_path("PATH", "/usr/bin", ":")
append_path("MANPATH", "", ":")

